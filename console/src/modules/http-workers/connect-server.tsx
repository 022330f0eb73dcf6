/** Making a server that runs already a worker of an endpoint: the command that does it. */
import type { ReactNode } from "react";
import { useLoad } from "../../client/load.ts";
import { CodeBlock } from "../../parts/copy.tsx";
import { T } from "../../text/text.ts";
import { readPresets, readServer } from "./http-server.ts";

export function ConnectServer({
	endpoint,
	base,
	external,
}: {
	endpoint: string;
	/** Address of the service as this page reaches it. */
	base: string;
	external: boolean;
}): ReactNode {
	const { data } = useLoad(`connect ${endpoint}`, async (signal) => {
		const [server, { presets }] = await Promise.all([readServer(endpoint, signal), readPresets(signal)]);
		return { ...server, usual: presets.find(({ name }) => name === server.preset)?.port };
	});
	if (!data) return null;
	const { preset, mapping, usual = 8000 } = data;
	const at = mapping.url ?? `http://127.0.0.1:${usual}`;
	return (
		<section className="card connect">
			<h2>{T.http.connect}</h2>
			<p className="hint">{external ? T.http.external : T.http.launched}</p>
			<CodeBlock name={T.http.connect} text={`sluice connect ${preset} ${at} --endpoint ${endpoint} --url ${base}`} />
			<p className="hint">{T.http.connectKey}</p>
		</section>
	);
}
