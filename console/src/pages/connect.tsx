/** Calling an endpoint from one's own code, and attaching workers: snippets that hold its address. */
import type { ReactNode } from "react";
import { BASE } from "../api.ts";
import { CodeTabs } from "../parts/code-tabs.tsx";
import { useMay } from "../session.tsx";
import type { Endpoint } from "../shapes.ts";
import { SNIPPETS } from "../snippets.ts";
import { T } from "../text.ts";
import { ConnectWorkers } from "./connect-workers.tsx";

export function ConnectPage({ endpoint: { id, launcher } }: { endpoint: Endpoint }): ReactNode {
	const admin = useMay("admin");
	const base = BASE.replace(/\/$/, "");
	return (
		<>
			<section className="card connect">
				<h2>{T.connect.clients}</h2>
				<CodeTabs
					name={T.connect.clients}
					memory="snippet"
					tabs={SNIPPETS.map((snippet) => ({ ...snippet, text: snippet.text({ base, id }) }))}
				/>
				<p className="hint">{T.connect.key}</p>
			</section>
			{admin ? <ConnectWorkers endpoint={id} base={base} external={launcher.type === "external"} /> : null}
		</>
	);
}
