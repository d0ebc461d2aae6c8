// SPDX-License-Identifier: GPL-2.0-or-later
// A browser starts no worker from a file. Where pages are opened from a folder, the search runs in a frame instead, which
// exchanges the same messages.
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      this.inside = frame.contentWindow;
      this.waiting = [];
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = address;
      script.addEventListener("load", () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.deliver(data));
      });
      frame.contentDocument.documentElement.append(script);
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.deliver(data);
    }

    deliver(data) {
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }

    set onmessage(listener) {
      this.addEventListener("message", listener);
    }
  };
}
