/** Pages whose code is loaded when they are wanted, also after an outage or an update. */
import { lazy } from "react";
import { BASE, OUTAGE_MS } from "../client/api.ts";
import { afterSeen, now } from "../client/clock.ts";

/** Between two automatic reloads, ms. */
const RELOAD_MS = 60_000;
const RELOADED = "sluice.console.reloaded";

/**
 * As `lazy`. Browsers remember for as long as the page lives that a module could not be loaded, so it
 * is reloaded once the service answers: that helps after an outage and after an update.
 */
export function lazyPage<M extends { default: React.ComponentType<any> }>(
	load: () => Promise<M>,
): React.LazyExoticComponent<M["default"]> {
	return lazy(async () => {
		try {
			return await load();
		} catch (error) {
			while (!(await answers())) await new Promise<void>((resolve) => void afterSeen(OUTAGE_MS, resolve));
			if (now() - Number(sessionStorage.getItem(RELOADED)) < RELOAD_MS) throw error;
			sessionStorage.setItem(RELOADED, String(now()));
			location.reload();
			return await new Promise<never>(() => {});
		}
	});
}

async function answers(): Promise<boolean> {
	return await fetch(`${BASE}healthz`, { cache: "no-store" }).then(
		({ ok }) => ok,
		() => false,
	);
}
