// Search in pages that are opened from a disk: no browser starts a Worker there, so its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.scope = frame.contentWindow;
      this.scope.document.open();   // or Firefox replaces the document once more
      this.scope.document.write("<body></body>");
      this.scope.document.close();
      this.scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.scope.document.createElement("script");
      this.loaded = new Promise(resolve => { script.onload = resolve; });
      script.src = new URL(url, location);
      this.scope.document.body.append(script);
    }

    postMessage(message) {
      const data = structuredClone(message);
      this.loaded.then(() => this.scope.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.scope.frameElement.remove();
    }
  };
}
