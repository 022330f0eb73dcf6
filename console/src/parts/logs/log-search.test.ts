/** How lines of several logs become those of one page. */
import { expect, it } from "vitest";
import {
	linesOf,
	logFilterOf,
	type PageLine,
	type Part,
	shortest,
	sourcesOf,
	withNewest,
	withOlder,
} from "./log-search.ts";

const at = (second: number): string => new Date(1000 * second).toISOString();
const line = (source: string | undefined, second: number): PageLine => ({
	...{ source, text: `${source} ${second}`, position: second, time: at(second) },
});
/** The newest first. */
const part = (source: string | undefined, seconds: readonly number[], next?: string): Part => ({
	source,
	lines: seconds.map((second) => line(source, second)),
	next,
});
const texts = (parts: readonly Part[]): string[] => linesOf(parts).map(({ text }) => text);

it("lines by time, none that unread lines of another log may come before", () => {
	const parts = [part("a", [9, 6], "a6"), part("b", [8, 3], "b3"), part(undefined, [7, 1])];
	expect(texts(parts)).toEqual(["a 6", "undefined 7", "b 8", "a 9"]);
	expect(shortest(parts).map(({ source }) => source)).toEqual(["a"]);
	const more = [withOlder(parts[0]!, part("a", [5, 2])), ...parts.slice(1)];
	expect(texts(more)).toEqual(["b 3", "a 5", "a 6", "undefined 7", "b 8", "a 9"]);
	expect(shortest(more).map(({ source }) => source)).toEqual(["b"]);
});

it("the newest lines join those that are known, or stand for them where a gap may be", () => {
	const known = part("a", [5, 4, 3], "older");
	expect(withNewest(known, part("a", [7, 6, 5], "x"))).toEqual(part("a", [7, 6, 5, 4, 3], "older"));
	expect(withNewest(known, part("a", [9, 8], "x"))).toEqual(part("a", [9, 8], "x"));
	expect(withNewest(known, part("a", [9, 8, 5, 4, 3])).lines).toHaveLength(5);
});

it("the filter of an address, and the logs that it needs", () => {
	const filter = logFilterOf(new URLSearchParams("lines=x&level=loud&range=15m&to=2026-01-01T00:00"), 900_000);
	expect(filter).toMatchObject({ lines: "all", since: at(0) });
	expect([filter.level, filter.until]).toEqual([undefined, undefined]);
	const of = (query: string): unknown => sourcesOf(logFilterOf(new URLSearchParams(query), 0), ["a", "b"]);
	expect(of("")).toEqual([undefined, "a", "b"]);
	expect(of("lines=workers")).toEqual(["a", "b"]);
	expect(of("lines=service&endpoint=a")).toEqual([undefined]);
	expect(of("endpoint=b")).toEqual([undefined, "b"]);
	expect(of("endpoint=b&worker=b-1")).toEqual(["b"]);
});
