/** Endpoints as stored. */
import type { EndpointRow } from "../store.ts";
import type { Parts } from "./parts.ts";
import type { GroupHandlers } from "./operations.ts";

export function openEndpoints({ db }: Parts): GroupHandlers<"endpoints"> {
  const put = db.prepare("INSERT INTO endpoints (id, settings, created_at) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET settings = excluded.settings");
  const select = db.prepare("SELECT id, settings, paused, created_at FROM endpoints ORDER BY id");
  return {
    put({ id, settings, now }) {
      put.run(id, settings, now);
    },

    list() {
      return select.all().map(([id, settings, paused, createdAt]): EndpointRow => ({ id: String(id), settings: String(settings), paused: paused === 1, createdAt: Number(createdAt) }));
    },
  };
}
