/** The worker that follows the server for all tabs: shared where browsers have shared workers, else one for each tab. */
import { Feed, type Message, type Request } from "./feed";

interface Port {
  postMessage(message: Message): void;
  onmessage: ((event: MessageEvent<Request>) => void) | null;
}

interface WorkerScope extends Port {
  onconnect?: ((event: MessageEvent) => void) | null;
}

const scope = self as unknown as WorkerScope;
const tabs = new Set<Port>();
const feed = new Feed({
  fetch: self.fetch.bind(self),
  url: "/api/v1/events?view=rows",
  tell: (message) => {
    for (const tab of tabs) tab.postMessage(message);
  },
});

function admit(port: Port): void {
  port.onmessage = (event) => {
    if (event.data === "leave") tabs.delete(port);
    else feed.retry();
  };
  for (const message of feed.greeting()) port.postMessage(message);
  tabs.add(port);
  feed.retry();
}

if ("onconnect" in scope || "SharedWorkerGlobalScope" in self) {
  scope.onconnect = (event) => {
    const port = event.ports[0];
    if (port) admit(port as unknown as Port);
  };
} else admit(scope);
