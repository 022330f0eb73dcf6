/**
 * Which page is shown: the part of the address behind `#`, so that the console works under any
 * path.
 */
import { useSyncExternalStore } from "react";

/**
 * `#/endpoints/thumbnail/requests?status=FAILED` is path [endpoints, thumbnail, requests] and a
 * query.
 */
export interface Place {
	path: readonly string[];
	query: URLSearchParams;
}

export type Query = Readonly<Record<string, string | undefined>>;

function read(hash: string): Place {
	const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
	return { path: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

/** A bad escape stands for itself: an address typed by hand must not break the page. */
function decoded(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

/**
 * The address of a page, for links. Members of the query that are undefined or empty are left out.
 */
export function to(path: readonly string[], query: Query = {}): string {
	const params = new URLSearchParams(
		Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ""),
	);
	return `#/${path.map(encodeURIComponent).join("/")}${params.size > 0 ? `?${params}` : ""}`;
}

/** Shows a page; `replace`: without a step in the browser's history. */
export function go(address: string, replace = false): void {
	if (replace) {
		history.replaceState(null, "", address);
		dispatchEvent(new HashChangeEvent("hashchange"));
	} else location.hash = address;
}

let place: Place & { hash: string } = { hash: "-", ...read("") };

function present(): Place {
	if (place.hash !== location.hash) place = { hash: location.hash, ...read(location.hash) };
	return place;
}

function subscribe(notify: () => void): () => void {
	addEventListener("hashchange", notify);
	return () => removeEventListener("hashchange", notify);
}

/** The page that is shown. */
export function usePlace(): Place {
	return useSyncExternalStore(subscribe, present);
}
