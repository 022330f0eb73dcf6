/** Alerts that fire (D53), each with its runbook and a button that silences it for the endpoint or for all. */
import type { ReactNode } from "react";
import { useAct } from "../../parts/act.ts";
import { ask, search } from "../../client/api.ts";
import { useTick } from "../../client/clock.ts";
import { useLoad } from "../../client/load.ts";
import { Button } from "../../parts/button.tsx";
import { Refusal } from "../../parts/notice.tsx";
import { Badge } from "../../parts/status.tsx";
import { Ago, Until } from "../../parts/time.tsx";
import { useMay } from "../../client/session.ts";
import type { Alert, Alerts as AlertList } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

const PACE_MS = 15_000;

/** Nothing while none fires. */
export function Alerts(): ReactNode {
	const change = useTick(PACE_MS);
	const load = (signal: AbortSignal): Promise<AlertList> => ask<AlertList>("v1/alerts", { signal });
	const { data, failure, reload } = useLoad("alerts", load, { change });
	if (failure) return <Refusal failure={failure} again={reload} />;
	if (!data || data.alerts.length === 0) return null;
	return (
		<section className="card" aria-labelledby="alerts">
			<h2 id="alerts">{T.alerts.title}</h2>
			<ul className="attention">
				{data.alerts.map((alert) => (
					<Line
						key={JSON.stringify([alert.name, alert.labels])}
						alert={alert}
						silences={data.silences}
						reload={reload}
					/>
				))}
			</ul>
		</section>
	);
}

function Line({
	alert,
	silences,
	reload,
}: {
	alert: Alert;
	silences: AlertList["silences"];
	reload: () => void;
}): ReactNode {
	const { name, severity, labels, summary, since, runbook, silencedUntil } = alert;
	const { endpoint } = labels;
	const admin = useMay("admin");
	const { busy, run } = useAct();
	const path = `v1/alerts/${name}/silence`;
	const silence = (): Promise<unknown> => ask(path, { method: "PUT", body: { for: "2h", endpoint } });
	const end = (): Promise<unknown> => {
		const own = silences.some((each) => each.name === name && each.endpoint === endpoint);
		return ask(`${path}${search({ endpoint: own ? endpoint : undefined })}`, { method: "DELETE" });
	};
	const act = async (doing: () => Promise<unknown>, done: string): Promise<void> => {
		if (await run(doing, done)) reload();
	};
	return (
		<li>
			<p>
				<Badge tone={severity === "critical" ? "bad" : "late"}>{name}</Badge> {summary} <Ago at={since} />{" "}
				{silencedUntil === undefined ? null : (
					<span className="muted">
						{T.alerts.silenced} <Until at={silencedUntil} />
					</span>
				)}{" "}
				<a href={runbook}>{T.alerts.runbook}</a>
			</p>
			{!admin ? null : silencedUntil === undefined ? (
				<Button look="quiet" busy={busy} onPress={() => void act(silence, T.alerts.silencedNow)}>
					{T.alerts.silence}
				</Button>
			) : (
				<Button look="quiet" busy={busy} onPress={() => void act(end, T.alerts.ended)}>
					{T.alerts.end}
				</Button>
			)}
		</li>
	);
}
