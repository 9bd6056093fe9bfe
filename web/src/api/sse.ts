/** Reads a stream of server-sent events. Pure: text in, events out, whatever the chunks are cut at. */

export interface ServerEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

export class EventParser {
  #rest: string[] = [];
  #id = "";
  #event = "message";
  #data: string[] = [];

  /** Takes in a piece of the stream; returns the events that it completes. */
  push(chunk: string): ServerEvent[] {
    if (!chunk.includes("\n")) {
      this.#rest.push(chunk);
      return [];
    }
    this.#rest.push(chunk);
    const lines = this.#rest.join("").split("\n");
    this.#rest = [lines.pop() ?? ""];
    const events: ServerEvent[] = [];
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        if (this.#data.length > 0) events.push({ id: this.#id, event: this.#event, data: this.#data.join("\n") });
        this.#event = "message";
        this.#data = [];
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
      if (field === "data") this.#data.push(value);
      else if (field === "event") this.#event = value;
      else if (field === "id") this.#id = value;
    }
    return events;
  }
}
