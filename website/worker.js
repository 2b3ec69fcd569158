// A page that is opened from a folder (file://) may not start workers. There the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.ready = new Promise((resolve) => (this.frame.onload = resolve));
      const address = new URL(url, location.href).href;
      this.frame.srcdoc = `<script>
        var self = { postMessage: (data) => parent.postMessage(data, "*") };
        addEventListener("message", (event) => self.onmessage(event));
      </script><script src="${address}"></script>`;
      addEventListener("message", (event) => {
        if (event.source === this.frame.contentWindow && this.onmessage) this.onmessage({ data: event.data });
      });
      document.body.append(this.frame);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.postMessage(data, "*"));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
