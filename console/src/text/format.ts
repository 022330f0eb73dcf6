/** Numbers, times and sizes as text. */
import { T } from "./text.ts";

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const CLOCK = new Intl.DateTimeFormat("en-GB", {
	hour: "2-digit",
	minute: "2-digit",
	second: "2-digit",
});
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const FULL = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

export const number = (value: number): string => NUMBER.format(value);
/** `12.3K` from ten thousand on. */
export const count = (value: number): string =>
	Math.abs(value) < 10_000 ? NUMBER.format(value) : COMPACT.format(value);

/** A share as `4.2 %`; one that is not 0 is not shown as 0. */
export function percent(share: number): string {
	const value = share * 100;
	return value > 0 && value < 0.1 ? "< 0.1 %" : `${NUMBER.format(value)} %`;
}

/** Largest first, ms. */
const UNITS: readonly [number, string][] = [
	[86_400_000, "d"],
	[3_600_000, "h"],
	[60_000, "min"],
	[1000, "s"],
];

/** Ms as `340 ms`, `1.2 s`, `2 min 5 s`, `3 h 10 min`, `2 d 4 h`. */
export function duration(ms: number): string {
	if (ms < 1000) return `${Math.round(ms)} ms`;
	const s = ms / 1000;
	if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
	const whole = Math.round(s);
	if (whole < 3600) return two(whole, 60, "min", "s");
	return whole < 86_400 ? two(Math.round(whole / 60), 60, "h", "min") : two(Math.round(whole / 3600), 24, "d", "h");
}

function two(value: number, size: number, big: string, small: string): string {
	const rest = value % size;
	return `${Math.floor(value / size)} ${big}${rest > 0 ? ` ${rest} ${small}` : ""}`;
}

/** Bytes as `12 kB`, `3.4 MB`, `120 GB`. */
export function bytes(size: number): string {
	if (size < 1000) return `${size} B`;
	if (size < 1e6) return `${NUMBER.format(size / 1000)} kB`;
	return size < 1e9 ? `${NUMBER.format(size / 1e6)} MB` : `${NUMBER.format(size / 1e9)} GB`;
}

/** A reason with its percentage: `Pulling image a:1, 43 %.` */
export function withProgress({ message, progress }: { message: string; progress?: number | undefined }): string {
	return progress === undefined ? message : `${message.replace(/\.$/, "")}, ${progress} %.`;
}

/** How long ago a moment was, or how far it is, in its largest unit. */
export function ago(at: number, now: number): string {
	const ms = Math.abs(now - at);
	if (ms < 2000) return T.time.now;
	const [size, unit] = UNITS.find(([each]) => ms >= each) ?? [1000, "s"];
	const span = `${Math.floor(ms / size)} ${unit}`;
	return at > now ? T.time.in(span) : T.time.ago(span);
}

/** Time of day, with the day when it is another one. */
export function clock(at: number, now: number): string {
	const date = new Date(at);
	return date.toDateString() === new Date(now).toDateString()
		? CLOCK.format(date)
		: `${DAY.format(date)} ${CLOCK.format(date)}`;
}

/** The time of day to the millisecond. */
export function timeOfDay(at: string): string {
	const date = new Date(at);
	return `${CLOCK.format(date)}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** The whole moment, for titles. */
export const moment = (at: number): string => FULL.format(new Date(at));

/** The end of an id, as `sluice jobs get` takes it too; names of workers are shown whole. */
export const short = (id: string): string => (id.length > 22 ? `…${id.slice(-6)}` : id);
