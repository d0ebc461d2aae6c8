// SPDX-License-Identifier: GPL-2.0-or-later
// What the page can do where JavaScript is on: charts that answer, a legend that hides, tables that filter, data to save.
"use strict";
(() => {
	const charts = new Map(); // the element of a chart: the promise of its Vega view
	const hidden = new Set(); // schedulers, in all charts

	function bring_to_life(chart) {
		if (charts.has(chart)) return charts.get(chart);
		const source = chart.querySelector("script.spec");
		const spec = JSON.parse(source.textContent);
		const all = spec.params.find((param) => param.name === "shown").value;
		const place = document.createElement("div");
		const options = {
			renderer: "svg",
			actions: false,
			defaultStyle: false,
			mode: "vega-lite",
			tooltip: { disableDefaultStyle: true },
		};
		const ready = vegaEmbed(place, spec, options).then(({ view }) => {
			// One picture with the name of the one before; its parts say nothing by themselves.
			const still = chart.querySelector(":scope > svg");
			place.setAttribute("role", "img");
			place.setAttribute("aria-label", still.getAttribute("aria-label"));
			place.querySelector("svg").setAttribute("aria-hidden", "true");
			still.replaceWith(place);
			chart.dataset.live = "yes";
			const live = { view, all };
			if (hidden.size) show(live);
			return live;
		});
		charts.set(chart, ready);
		return ready;
	}

	function show({ view, all }) {
		if (!all.some((label) => hidden.has(label)) && view.signal("shown").length === all.length) return;
		view.signal("shown", all.filter((label) => !hidden.has(label))).run();
	}

	// Only what is near the window: a page may hold a hundred charts.
	const watcher = new IntersectionObserver(
		(entries) => {
			for (const entry of entries) {
				if (!entry.isIntersecting) continue;
				watcher.unobserve(entry.target);
				bring_to_life(entry.target);
			}
		},
		{ rootMargin: "300px" },
	);
	for (const source of document.querySelectorAll(".chart > script.spec")) watcher.observe(source.parentElement);

	for (const entry of document.querySelectorAll(".legend > span[data-scheduler]")) {
		const button = document.createElement("button");
		button.type = "button";
		button.title = "show or hide in all charts";
		button.dataset.scheduler = entry.dataset.scheduler;
		button.setAttribute("aria-pressed", "true");
		button.append(...entry.childNodes);
		entry.replaceWith(button);
		button.addEventListener("click", () => toggle(button.dataset.scheduler));
	}

	function toggle(label) {
		if (!hidden.delete(label)) hidden.add(label);
		for (const button of document.querySelectorAll(".legend > button[data-scheduler]"))
			button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.scheduler)));
		for (const ready of charts.values()) ready.then(show);
	}

	// Claims: all, or those with one verdict.
	for (const table of document.querySelectorAll("table.claims")) {
		const rows = [...table.querySelectorAll("tbody tr")];
		const kinds = new Map([["all", rows.length]]);
		for (const row of rows) kinds.set(row.dataset.verdict, (kinds.get(row.dataset.verdict) || 0) + 1);
		if (kinds.size < 3) continue;
		const bar = document.createElement("p");
		bar.className = "filter";
		for (const [kind, count] of kinds) {
			const button = document.createElement("button");
			button.type = "button";
			button.textContent = `${kind} (${count})`;
			button.setAttribute("aria-pressed", String(kind === "all"));
			button.addEventListener("click", () => {
				for (const row of rows) row.hidden = kind !== "all" && row.dataset.verdict !== kind;
				for (const other of bar.children) other.setAttribute("aria-pressed", String(other === button));
			});
			bar.append(button);
		}
		table.closest(".scroll").before(bar);
	}

	const save = document.getElementById("save");
	const data = document.getElementById("data");
	if (save && data) {
		save.hidden = false;
		save.addEventListener("click", async () => {
			const link = document.createElement("a");
			link.href = URL.createObjectURL(new Blob([await text_of(data)], { type: "application/json" }));
			link.download = "schedlab.json";
			link.click();
			setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
		});
	}

	async function text_of(element) {
		if (element.type !== "application/gzip") return element.textContent;
		const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
		const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
		return new Response(plain).text();
	}
})();
