/** Versions of what an endpoint's workers are launched with (D50): what each changed, who runs it, the way back. */
import { type ReactNode, useState } from "react";
import { ask, ofEndpoint } from "../../client/api.ts";
import { useLoad } from "../../client/load.ts";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Refusal } from "../../parts/notice.tsx";
import { Badge } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { useMay } from "../../client/session.ts";
import type { Release } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { ReleaseComparison } from "./release-comparison.tsx";

/** `change`: when to read them again. */
export function Releases({ id, change }: { id: string; change: unknown }): ReactNode {
	const admin = useMay("admin");
	const [chosen, choose] = useState<Release | undefined>(undefined);
	const { data, failure, reload } = useLoad(
		`releases ${id}`,
		(signal) => ask<{ version: number; releases: Release[] }>(ofEndpoint(id, "/releases"), { signal }),
		{ change },
	);
	if (failure && !data) return <Refusal failure={failure} again={reload} />;
	if (!data) return null;
	const { version, releases } = data;
	const at = releases.findIndex((each) => each.version === version);
	const [current, before] = releases.slice(at);
	return (
		<section className="stack" aria-labelledby="releases">
			<h2 id="releases">{T.releases.title}</h2>
			{current && before ? <ReleaseComparison current={current} before={before} /> : null}
			<div className="card flush">
				<Table
					label={T.releases.title}
					columns={admin ? [...columns(version), backColumn(version, choose)] : columns(version)}
					rows={releases}
					id={(each) => String(each.version)}
				/>
			</div>
			{chosen ? (
				<Confirm
					title={T.releases.backTitle(chosen.version)}
					act={T.releases.back}
					doing={async () => {
						await ask(ofEndpoint(id, `/releases/${chosen.version}/rollback`), { method: "POST" });
						reload();
					}}
					done={T.releases.isBack}
					close={() => choose(undefined)}
				>
					<p>{T.releases.backText}</p>
				</Confirm>
			) : null}
		</section>
	);
}

const TONES = { healthy: "good", unproven: "late", failed: "bad" } as const;

const columns = (current: number): readonly Column<Release>[] => [
	{
		name: T.releases.version,
		main: true,
		cell: ({ version, state }) => (
			<>
				<b>{version}</b> {version === current ? <Badge>{T.releases.current}</Badge> : null}{" "}
				<Badge tone={TONES[state]}>{T.releases.states[state]}</Badge>
			</>
		),
	},
	{ name: T.releases.workers, cell: ({ workers }) => workers },
	{ name: T.releases.made, cell: ({ createdAt }) => <Ago at={createdAt} /> },
	{ name: T.releases.changes, cell: (release) => <Changes release={release} /> },
];

/** Why the service made it, or the settings that it changed. */
function Changes({ release: { reason, diff } }: { release: Release }): ReactNode {
	if (reason !== undefined) return reason;
	if (diff.length === 0) return T.releases.first;
	return (
		<>
			{diff.map(({ field, old, new: next }) => (
				<div key={field}>
					<code>{field}</code>: {shown(old)} → {shown(next)}
				</div>
			))}
		</>
	);
}

function shown(value: unknown): string {
	if (value === null) return T.releases.none;
	return typeof value === "string" ? value : JSON.stringify(value);
}

const backColumn = (current: number, choose: (release: Release) => void): Column<Release> => ({
	name: T.releases.back,
	silent: true,
	end: true,
	cell: (release) =>
		release.version === current ? null : (
			<Button look="quiet" onPress={() => choose(release)}>
				{T.releases.back}
			</Button>
		),
});
