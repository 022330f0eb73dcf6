/** One line on what stands behind an endpoint: its preset, where its server listens, whether it is ready. */
import { type ReactNode, useState } from "react";
import { useNow } from "../../client/clock.ts";
import { useOverview } from "../../client/feed.ts";
import { useLoad } from "../../client/load.ts";
import { useMay } from "../../client/session.ts";
import { T } from "../../text/text.ts";
import { readReadiness, readServer } from "./http-server.ts";
import { type HttpServer, placeOf, type Readiness } from "./server-state.ts";

/** Between two reads while a server starts: as often as its adapter says what it answers, ms. */
const STARTING_MS = 10_000;

const TONES = { ready: "good", asleep: "off", starting: "wait", unready: "bad", none: "off" } as const;

/** `change`: when it changes, the mapping is read again. */
export function ServerLine({ id, change }: { id: string; change: unknown }): ReactNode {
	const admin = useMay("admin");
	const overview = useOverview(id);
	const [starting, setStarting] = useState(false);
	const beat = Math.floor(useNow(STARTING_MS) / STARTING_MS);
	const { data: server } = useLoad(`http ${id}`, (signal) => readServer(id, signal), {
		change: JSON.stringify(change),
	});
	const { data: readiness } = useLoad(
		`readiness ${id} ${admin}`,
		async (signal) => {
			const read = await readReadiness(id, admin, signal);
			setStarting(read.state === "starting");
			return read;
		},
		{ change: `${JSON.stringify(overview?.workers)} ${starting ? beat : 0}` },
	);
	if (!server) return null;
	return (
		<p className="server-line">
			<span>
				{T.http.server} <code>{server.preset}</code>
			</span>
			<Place server={server} />
			{readiness ? <Ready readiness={readiness} /> : null}
		</p>
	);
}

function Place({ server: { mapping } }: { server: HttpServer }): ReactNode {
	const place = placeOf(mapping);
	if (place === undefined) return <span className="muted">{T.http.connected}</span>;
	if ("address" in place) return <code className="break">{place.address}</code>;
	return <span>{place.port === 0 ? T.http.freePort : T.http.onPort(place.port)}</span>;
}

function Ready({ readiness: { state, workers, answer } }: { readiness: Readiness }): ReactNode {
	return (
		<>
			<span className={`status tone-${TONES[state]}`}>{T.http.states[state](workers)}</span>
			{answer === undefined ? null : (
				<code className="line" title={answer}>
					{answer}
				</code>
			)}
		</>
	);
}
