/** Calling an endpoint from one's own code, and attaching workers: snippets that hold its address. */
import type { ReactNode } from "react";
import { BASE } from "../../client/api.ts";
import { exampleOf } from "../../values/example-input.ts";
import { useLoad } from "../../client/load.ts";
import { CodeTabs } from "../../parts/values/code-tabs.tsx";
import { Loading } from "../../parts/notice.tsx";
import { recentInput } from "../try/recent-input.ts";
import { useMay } from "../../client/session.ts";
import type { Endpoint } from "../../client/shapes.ts";
import { SNIPPETS } from "../../values/snippets.ts";
import { T } from "../../text/text.ts";
import { ConnectServer } from "../../modules/http-workers/connect-server.tsx";
import { hasHttp } from "../../modules/http-workers/http-server.ts";
import { ConnectWorkers } from "./connect-workers.tsx";

export function ConnectPage({ endpoint }: { endpoint: Endpoint }): ReactNode {
	const { id, launcher } = endpoint;
	const Connect = hasHttp(endpoint) ? ConnectServer : ConnectWorkers;
	const admin = useMay("admin");
	const base = BASE.replace(/\/$/, "");
	const { data: recent } = useLoad(`recent ${id}`, (signal) => recentInput(id, signal));
	if (!recent) return <Loading />;
	const place = { base, id, input: exampleOf(recent.example), model: recent.model ?? "" };
	const first = recent.chat ? "openai" : "curl";
	return (
		<>
			<section className="card connect">
				<h2>{T.connect.clients}</h2>
				<CodeTabs
					name={T.connect.clients}
					// A choice made at other endpoints would hide the client that fits.
					memory={recent.chat ? "snippet.chat" : "snippet"}
					tabs={SNIPPETS.toSorted((a, b) => Number(b.id === first) - Number(a.id === first)).map((snippet) => ({
						...snippet,
						text: snippet.text(place),
					}))}
				/>
				<p className="hint">{T.connect.key}</p>
			</section>
			{admin ? <Connect endpoint={id} base={base} external={launcher.type === "external"} /> : null}
		</>
	);
}
