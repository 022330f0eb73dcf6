/** The pages there are, in their order: for the menus and for searching. */
import type { IconName } from "./icons.tsx";
import { T } from "../text/text.ts";

/** Pages that belong to no endpoint; `key` after `g` leads there. */
export const GLOBAL_PAGES = [
	{ path: "overview", key: "o", name: T.pages.overview, icon: "overview" },
	{ path: "workers", key: "w", name: T.pages.workers, icon: "worker" },
	{ path: "hosts", key: "h", name: T.pages.hosts, icon: "host", admin: true },
	{ path: "webhooks", key: "b", name: T.pages.webhooks, icon: "webhook" },
	{ path: "logs", key: "l", name: T.pages.logs, icon: "lines", admin: true },
	{ path: "server", key: "s", name: T.pages.server, icon: "pulse", admin: true },
	{ path: "keys", key: "k", name: T.pages.keys, icon: "key", admin: true },
	{ path: "audit", key: "a", name: T.pages.audit, icon: "list", admin: true },
] as const satisfies readonly { path: string; key: string; name: string; icon: IconName; admin?: true }[];

/** Pages of each endpoint. */
export const ENDPOINT_PAGES = [
	{ path: "charts", name: T.tabs.charts },
	{ path: "requests", name: T.tabs.requests },
	{ path: "try", name: T.tabs.try },
	{ path: "workers", name: T.tabs.workers },
	{ path: "batches", name: T.tabs.batches },
	{ path: "files", name: T.tabs.files },
	{ path: "connect", name: T.tabs.connect },
	{ path: "settings", name: T.tabs.settings },
] as const;
