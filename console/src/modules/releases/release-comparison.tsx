/** Jobs of the current version of an endpoint next to those of the one before (D50). */
import type { ReactNode } from "react";
import { count, duration, number, percent } from "../../text/format.ts";
import { type Column, Table } from "../../parts/table.tsx";
import type { Release } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

type Jobs = Release["jobs"];

interface Figure {
	name: string;
	of: (jobs: Jobs) => number | null;
	text: (value: number) => string;
	/** Undefined: a difference says nothing. */
	words?: Words;
}

type Words = (typeof T.releases.words)[keyof typeof T.releases.words];

/** Percentiles are within 5 % on both sides. */
const SAME = 0.1;

const endedOf = ({ completed, failed }: Jobs): number => completed + failed;

const FIGURES: readonly Figure[] = [
	{ name: T.overview.ended, of: endedOf, text: count },
	{
		name: T.overview.errors,
		of: (jobs) => (endedOf(jobs) === 0 ? null : jobs.failed / endedOf(jobs)),
		text: percent,
		words: T.releases.words.failures,
	},
	{ name: T.releases.median, of: (jobs) => jobs.executionMs.p50, text: duration, words: T.releases.words.runs },
	{ name: T.overview.execution, of: (jobs) => jobs.executionMs.p95, text: duration, words: T.releases.words.runs },
];

export function ReleaseComparison({ before, current }: { before: Release; current: Release }): ReactNode {
	const title = T.releases.compared(current.version, before.version);
	return (
		<section className="card flush" aria-label={title}>
			<header className="section-head inset">
				<h2>{title}</h2>
				<span className="muted">{T.releases.lastDay}</span>
			</header>
			{endedOf(current.jobs) === 0 ? (
				<p className="muted padded">{T.releases.noJobs}</p>
			) : (
				<Table label={title} columns={columns(before, current)} rows={FIGURES} id={({ name }) => name} />
			)}
		</section>
	);
}

function columns(before: Release, current: Release): readonly Column<Figure>[] {
	const valueOf = (release: Release): Column<Figure> => ({
		name: T.releases.numbered(release.version),
		end: true,
		cell: ({ of, text }) => {
			const value = of(release.jobs);
			return value === null ? null : text(value);
		},
	});
	return [
		{ name: T.releases.figure, silent: true, main: true, cell: ({ name }) => name },
		valueOf(before),
		valueOf(current),
		{
			name: T.releases.difference,
			cell: ({ of, words }) => {
				const [was, is] = [of(before.jobs), of(current.jobs)];
				return words && was !== null && is !== null ? differenceOf(was, is, words) : null;
			},
		},
	];
}

function differenceOf(was: number, is: number, words: Words): string {
	if (is === was) return T.releases.same;
	// Only ratios of failures are ever 0.
	if (was === 0) return T.releases.begun;
	if (is === 0) return T.releases.ended;
	const ratio = is / was;
	if (Math.abs(ratio - 1) < SAME) return T.releases.same;
	if (ratio >= 2) return words.times(number(ratio));
	const share = percent(Math.round(Math.abs(ratio - 1) * 100) / 100);
	return ratio > 1 ? words.more(share) : words.less(share);
}
