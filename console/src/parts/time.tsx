/** Moments and spans. */
import type { ReactNode } from "react";
import { useNow } from "../client/clock.ts";
import { ago, clock, duration, moment } from "../text/format.ts";
import { T } from "../text/text.ts";

/** How long ago it was; the whole moment as its title. */
export function Ago({ at }: { at: string }): ReactNode {
	const now = useNow(5000);
	const ms = new Date(at).getTime();
	return (
		<time dateTime={at} title={moment(ms)}>
			{ago(ms, now)}
		</time>
	);
}

/** The time of day. */
export function At({ at }: { at: string }): ReactNode {
	const now = useNow(60_000);
	const ms = new Date(at).getTime();
	return (
		<time dateTime={at} title={moment(ms)}>
			{clock(ms, now)}
		</time>
	);
}

/** The time until then, in seconds; "now" when it has passed. */
export function Until({ at }: { at: string }): ReactNode {
	const ms = new Date(at).getTime();
	const left = ms - useNow(1000);
	return (
		<time dateTime={at} title={moment(ms)}>
			{left > 0 ? T.time.in(duration(Math.ceil(left / 1000) * 1000)) : T.time.soon}
		</time>
	);
}

/** The time since then, growing. */
export function Since({ at }: { at: string }): ReactNode {
	const now = useNow(1000);
	return (
		<time dateTime={at} title={moment(new Date(at).getTime())}>
			{duration(Math.max(0, now - new Date(at).getTime()))}
		</time>
	);
}
