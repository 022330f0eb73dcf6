/** The endpoints this server knows, kept in memory over the store (D27, D35). */
import type { Endpoint } from "../core/endpoint.ts";
import { readEndpoint } from "../core/endpoint.ts";
import { ApiError } from "../core/errors.ts";
import type { EndpointStore } from "../store/store.ts";

/** Looks endpoints up and keeps them. */
export interface Registry {
  /** Reads what the store has. Faulty records are left out and told to `onFault`. */
  load(onFault: (id: string, fault: string) => void): Promise<void>;
  /** Creates or updates an endpoint; what the file says wins over the store (D35). */
  put(endpoint: Endpoint, now: number): Promise<void>;
  /** Throws `endpoint_not_found`. */
  get(id: string): Endpoint;
  has(id: string): boolean;
  /** Jobs are accepted and queued, not handed out (D29). */
  paused(id: string): boolean;
  all(): Iterable<Endpoint>;
}

/** A registry over the store's endpoints. */
export function registry(store: EndpointStore): Registry {
  const known = new Map<string, { endpoint: Endpoint; paused: boolean }>();
  return {
    async load(onFault) {
      for (const row of await store.list()) {
        const read = readEndpoint(row.id, JSON.parse(row.settings));
        if (read.ok) known.set(row.id, { endpoint: read.endpoint, paused: row.paused });
        else onFault(row.id, read.faults.map((fault) => `${fault.field} ${fault.message}`).join("; "));
      }
    },
    async put(endpoint, now) {
      const { id, ...settings } = endpoint;
      await store.put({ id, settings: JSON.stringify(settings), now });
      known.set(id, { endpoint, paused: known.get(id)?.paused ?? false });
    },
    get(id) {
      const entry = known.get(id);
      if (!entry) throw new ApiError("endpoint_not_found", { endpoint: id });
      return entry.endpoint;
    },
    has: (id) => known.has(id),
    paused: (id) => known.get(id)?.paused ?? false,
    *all() {
      for (const { endpoint } of known.values()) yield endpoint;
    },
  };
}
