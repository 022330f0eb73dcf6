/**
 * Pictograms, drawn for this console: 16 x 16, in the colour of the text. Each stands next to a word
 * or in a control that has a name.
 */
import type { ReactNode } from "react";

const PATHS = {
	overview: "M2.5 2.5h4.5v4.5h-4.5zM9 2.5h4.5v4.5h-4.5zM2.5 9h4.5v4.5h-4.5zM9 9h4.5v4.5h-4.5z",
	worker: "M2.5 3.5h11v9h-11zM5 6.5l2 1.5-2 1.5M8.5 10h2.5",
	host: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
	list: "M3 4.500h.01M6 4.500h7.500M3 8h.01M6 8h7.500M3 11.500h.01M6 11.500h7.500",
	lines: "M2.5 3.5h11M2.5 6.5h8M2.5 9.5h11M2.5 12.5h6",
	pulse: "M1.5 8.5h3l2-5 3 9 2-4h3",
	key: "M10.5 2.5a3 3 0 1 1-2.6 4.5L3 12v1.5h2v-1.5h1.5v-1.5l1.4-1.4M11 5.5h.01",
	webhook: "M8 3v5M8 8l-3.5 3M8 8l3.5 3M8 2.2a1 1 0 1 0 .01 0M3.8 10.8a1 1 0 1 0 .01 0M12.2 10.8a1 1 0 1 0 .01 0",
	search: "M7 2.5a4.5 4.5 0 1 0 .01 0M10.4 10.4l3.1 3.1",
	menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
	close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
	copy: "M5.5 5.5h8v8h-8zM10.5 3V2.5h-8v8H3",
	check: "M3 8.5l3.2 3.2L13 4.8",
	plus: "M8 3v10M3 8h10",
	pause: "M5.5 3.5v9M10.5 3.5v9",
	play: "M5 3.2l8 4.8-8 4.8z",
	stop: "M4 4h8v8h-8z",
	retry: "M13 8a5 5 0 1 1-1.5-3.6M13 2.5v3h-3",
	left: "M10 3.5L5.5 8l4.5 4.5",
	right: "M6 3.5L10.5 8 6 12.5",
	down: "M3.5 6L8 10.5 12.5 6",
	more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
	send: "M2.5 8h10M8.5 4l4 4-4 4",
	sun: "M8 5.2a2.8 2.8 0 1 0 .01 0M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
	moon: "M13 9.6A5.5 5.5 0 0 1 6.4 3a5.5 5.5 0 1 0 6.6 6.6z",
	screen: "M2.5 3h11v7.5h-11zM5.5 13h5M8 10.5V13",
	out: "M6.5 2.5h-4v11h4M6 8h7.5M10.5 5l3 3-3 3",
	clip: "M12.5 7.5l-4.8 4.8a2.9 2.9 0 0 1-4.1-4.1l5-5a2 2 0 0 1 2.8 2.8l-4.9 4.9a1 1 0 0 1-1.4-1.4L9.500 5",
	warn: "M8 2.5l6 11h-12zM8 6.5v3.5M8 11.8h.01",
	dot: "M8 5.5a2.5 2.5 0 1 0 .01 0",
	down2: "M8 2.5v8M4.5 7.500l3.5 3.500 3.500-3.500M3 13.500h10",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): ReactNode {
	return (
		<svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
			<path d={PATHS[name]} />
		</svg>
	);
}

/** The sign of the service. */
export function Mark(): ReactNode {
	return (
		<svg className="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
			<rect width="32" height="32" rx="7" />
			<path d="M7 8h18M7 24c3-3 6-3 9 0s6 3 9 0M7 18c3-3 6-3 9 0s6 3 9 0M11 8v5M16 8v6M21 8v5" />
		</svg>
	);
}
