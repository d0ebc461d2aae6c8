// SPDX-License-Identifier: GPL-2.0-or-later
// The picture of a schedule: all its panels show the same stretch of time, which wheel, drag, buttons and keys change.
"use strict";
(() => {
	const SVG = "http://www.w3.org/2000/svg";
	const NAMES = 104, RIGHT = 8, CPU_ROW = 24, TASK_ROW = 15, AXIS = 24, GAP = 8;
	const NARROWEST_NS = 1_000;
	const TICK_PX = 90;

	function make(name, attributes = {}, text = "") {
		const element = document.createElementNS(SVG, name);
		for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
		if (text) element.textContent = text;
		return element;
	}

	function time(ns) {
		if (ns === 0) return "0";
		const [value, unit] = Math.abs(ns) >= 1e9 ? [ns / 1e9, "s"] : Math.abs(ns) >= 1e6 ? [ns / 1e6, "ms"]
			: Math.abs(ns) >= 1e3 ? [ns / 1e3, "µs"] : [ns, "ns"];
		return `${Number(value.toPrecision(4))} ${unit}`;
	}

	function step_for(length, most) {
		for (let power = 1; ; power *= 10)
			for (const digit of [1, 2, 5]) if (length / (digit * power) <= most) return digit * power;
	}

	class Picture {
		constructor(figure) {
			this.data = JSON.parse(figure.querySelector("script.schedule").textContent);
			this.length = this.data.end_ns - this.data.start_ns;
			this.from = 0;
			this.to = this.length;
			this.marked = null; // a group of tasks, or one task: what the rest fades beside
			this.panels = [...figure.querySelectorAll(".schedule-window")].map((place, at) => new Panel(this, place, at));
			this.tip = document.createElement("div");
			this.tip.className = "tip";
			this.tip.hidden = true;
			figure.append(this.tip);
			this.bar(figure);
			this.legend(figure);
			new ResizeObserver(() => this.draw()).observe(this.panels[0].place);
			matchMedia("print").addEventListener("change", () => this.draw());
			this.draw();
		}

		bar(figure) {
			const bar = document.createElement("p");
			bar.className = "filter tools";
			const tools = [
				["−", "zoom out (−)", () => this.zoom(2)],
				["+", "zoom in (+)", () => this.zoom(0.5)],
				["←", "earlier (←)", () => this.pan(-0.25)],
				["→", "later (→)", () => this.pan(0.25)],
				["all", "the whole window (0)", () => this.show(0, this.length)],
			];
			for (const [text, title, action] of tools) {
				const button = document.createElement("button");
				button.type = "button";
				button.textContent = text;
				button.title = title;
				button.addEventListener("click", action);
				bar.append(button);
			}
			this.range = document.createElement("small");
			bar.append(this.range);
			(figure.querySelector(".beside") ?? this.panels[0].place.previousElementSibling).before(bar);
		}

		legend(figure) {
			[...figure.querySelectorAll(".legend > span")].forEach((entry, group) => {
				if (group >= this.data.groups.length) return;
				const button = document.createElement("button");
				button.type = "button";
				button.title = "show these tasks alone";
				button.setAttribute("aria-pressed", "true");
				button.append(...entry.childNodes);
				entry.replaceWith(button);
				button.addEventListener("click", () => {
					this.marked = this.marked?.group === group ? null : { group };
					for (const other of button.parentElement.querySelectorAll("button"))
						other.setAttribute("aria-pressed", String(!this.marked || other === button));
					this.draw();
				});
			});
		}

		// A share of the picture's width: 0 is its left end.
		zoom(factor, at = 0.5) {
			const centre = this.from + (this.to - this.from) * at;
			const wide = Math.min(this.length, Math.max(NARROWEST_NS, (this.to - this.from) * factor));
			this.show(centre - wide * at, centre + wide * (1 - at));
		}

		pan(share) {
			const moved = (this.to - this.from) * share;
			this.show(this.from + moved, this.to + moved);
		}

		show(from, to) {
			const wide = to - from;
			this.from = Math.max(0, Math.min(from, this.length - wide));
			this.to = Math.min(this.length, this.from + wide);
			this.draw();
		}

		draw() {
			if (this.waiting) return;
			this.waiting = requestAnimationFrame(() => {
				this.waiting = 0;
				this.range.textContent = `${time(this.to - this.from)} shown, from ${time(this.from)} on`;
				for (const panel of this.panels) panel.draw();
			});
		}

		faded(panel, task) {
			if (!this.marked) return false;
			return this.marked.group !== undefined ? panel.data.tasks[task][1] !== this.marked.group
				: this.marked.pid !== panel.data.tasks[task][0];
		}

		say(event, text) {
			this.tip.hidden = !text;
			if (!text) return;
			this.tip.textContent = text;
			const wide = this.tip.offsetWidth;
			this.tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - wide - 4))}px`;
			this.tip.style.top = `${Math.min(event.clientY + 14, innerHeight - this.tip.offsetHeight - 4)}px`;
		}
	}

	class Panel {
		constructor(picture, place, at) {
			this.picture = picture;
			this.place = place;
			this.data = picture.data.panels[at];
			this.row_of_cpu = new Map(this.data.cpus.map((cpu, row) => [cpu, row]));
			this.row_of_task = new Map(this.data.rows.map((task, row) => [task, row]));
			place.tabIndex = 0;
			place.setAttribute("role", "application");
			place.setAttribute("aria-label", `schedule under ${this.data.scheduler}: arrows move, plus and minus zoom`);
			place.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
			place.addEventListener("pointerdown", (event) => this.press(event));
			place.addEventListener("pointermove", (event) => this.move(event));
			place.addEventListener("pointerup", () => { this.held = null; });
			place.addEventListener("pointerleave", (event) => { picture.say(event, ""); });
			place.addEventListener("keydown", (event) => this.key(event));
			place.addEventListener("dblclick", (event) => picture.zoom(0.25, this.share(event)));
		}

		name(task) {
			const [pid, group, own] = this.data.tasks[task];
			return `${own ?? this.picture.data.groups[group]} ${pid}`;
		}

		share(event) {
			const box = this.place.getBoundingClientRect();
			return Math.max(0, Math.min(1, (event.clientX - box.left - NAMES) / this.span));
		}

		wheel(event) {
			event.preventDefault();
			if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
				this.picture.pan((event.deltaX || event.deltaY) / this.span);
			else this.picture.zoom(Math.exp(event.deltaY / 300), this.share(event));
		}

		press(event) {
			if (event.button !== 0) return;
			this.held = { x: event.clientX, from: this.picture.from, to: this.picture.to };
			this.place.setPointerCapture(event.pointerId);
		}

		move(event) {
			if (this.held && event.buttons) {
				const moved = ((this.held.x - event.clientX) / this.span) * (this.held.to - this.held.from);
				this.picture.show(this.held.from + moved, this.held.to + moved);
				return;
			}
			const under = document.elementFromPoint(event.clientX, event.clientY);
			this.picture.say(event, under?.dataset?.says ?? "");
		}

		key(event) {
			const does = {
				"+": () => this.picture.zoom(0.5),
				"=": () => this.picture.zoom(0.5),
				"-": () => this.picture.zoom(2),
				ArrowLeft: () => this.picture.pan(-0.25),
				ArrowRight: () => this.picture.pan(0.25),
				0: () => this.picture.show(0, this.picture.length),
				Home: () => this.picture.show(0, this.picture.to - this.picture.from),
				End: () => this.picture.show(this.picture.length, this.picture.length + this.picture.to - this.picture.from),
			}[event.key];
			if (!does || event.ctrlKey || event.altKey || event.metaKey) return;
			event.preventDefault();
			does();
		}

		draw() {
			const { picture, data } = this;
			const width = Math.max(280, this.place.clientWidth);
			this.span = width - NAMES - RIGHT;
			const top = data.cpus.length * CPU_ROW + GAP;
			const bottom = top + data.rows.length * TASK_ROW;
			const svg = make("svg", { width, height: bottom + AXIS, "font-size": 12, "font-family": "system-ui, sans-serif" });
			const shown = make("svg", { x: NAMES, y: 0, width: this.span, height: bottom + 4, overflow: "hidden" });
			const scale = this.span / (picture.to - picture.from);
			const x = (ns) => (ns - picture.from) * scale;
			svg.append(this.hatch());
			for (const [cpu, row] of this.row_of_cpu)
				svg.append(make("text", { x: NAMES - 8, y: row * CPU_ROW + 16, "text-anchor": "end", class: "soft" }, `CPU ${cpu}`));
			for (const [task, row] of this.row_of_task) svg.append(this.task_label(task, top + row * TASK_ROW + 11));
			const step = step_for(picture.to - picture.from, Math.max(1, Math.floor(this.span / TICK_PX)));
			for (let at = Math.ceil(picture.from / step) * step; at <= picture.to; at += step) {
				const here = NAMES + x(at);
				svg.append(make("path", { d: `M${here} 0V${bottom + 4}`, class: "line" }));
				// The whole of the label stays inside.
				const where = Math.min(Math.max(here, NAMES + 12), width - 26);
				svg.append(make("text", { x: where, y: bottom + 17, "text-anchor": "middle", class: "soft" }, time(at)));
			}
			const bar = (start, length, y, height, task, attributes, says) => {
				const left = Math.max(x(start), -2), right = Math.min(x(start + length), this.span + 2);
				if (right < 0 || left > this.span) return null;
				const faded = picture.faded(this, task) ? { opacity: 0.15 } : {};
				const box = make("rect", { x: left, y, width: Math.max(0.5, right - left), height, ...attributes, ...faded });
				if (attributes.class === "run" && right - left > 4) box.setAttribute("class", "run wide");
				box.dataset.says = says();
				shown.append(box);
				return { left, right, faded: "opacity" in faded };
			};
			for (const [task, start, length] of data.waits) {
				const row = this.row_of_task.get(task);
				if (row === undefined) continue;
				bar(start, length, top + row * TASK_ROW + 2, TASK_ROW - 4, task, { fill: `url(#${this.pattern})`, class: "wait" },
					() => `${this.name(task)} waits ${time(length)}, from ${time(start)} on`);
			}
			for (const [cpu, task, start, length] of data.runs) {
				const colour = { fill: picture.data.colours[data.tasks[task][1]], class: "run" };
				const says = () => `${this.name(task)} runs on CPU ${cpu} for ${time(length)}, from ${time(start)} on`;
				const y = this.row_of_cpu.get(cpu) * CPU_ROW + 2;
				const box = bar(start, length, y, CPU_ROW - 4, task, colour, says);
				const name = this.name(task);
				const inside = data.tasks[task][2] === undefined ? "inside" : "inside aside";
				if (box && !box.faded && box.right - box.left > 7.4 * name.length + 6) {
					const middle = (Math.max(box.left, 0) + Math.min(box.right, this.span)) / 2;
					if (Math.min(box.right, this.span) - Math.max(box.left, 0) > 7.4 * name.length + 6)
						shown.append(make("text", { x: middle, y: y + 14.5, "text-anchor": "middle", class: inside }, name));
				}
				const row = this.row_of_task.get(task);
				if (row !== undefined) bar(start, length, top + row * TASK_ROW + 1, TASK_ROW - 2, task, colour, says);
			}
			svg.append(shown);
			this.place.replaceChildren(svg);
			this.place.dataset.live = "yes";
		}

		task_label(task, y) {
			const pid = this.data.tasks[task][0];
			const label = make("text", { x: NAMES - 8, y, "text-anchor": "end", class: "soft task", "font-size": 11 });
			label.textContent = this.name(task).slice(-16);
			label.addEventListener("click", () => {
				this.picture.marked = this.picture.marked?.pid === pid ? null : { pid };
				this.picture.draw();
			});
			return label;
		}

		hatch() {
			this.pattern ??= `hatch-${Math.random().toString(36).slice(2)}`;
			const definitions = make("defs");
			const pattern = make("pattern", { id: this.pattern, width: 5, height: 5, patternUnits: "userSpaceOnUse" });
			pattern.append(make("path", { d: "M-1 1 1-1M0 5 5 0M4 6 6 4", class: "hatching" }));
			definitions.append(pattern);
			return definitions;
		}
	}

	for (const figure of document.querySelectorAll("figure.schedule")) new Picture(figure);
})();
