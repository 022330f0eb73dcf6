/** The setting `http` as the form of a new endpoint has it; the service checks it. */

export interface TypedServer {
	preset: string;
	/** Of a server that the service starts. Empty: the preset's. */
	port: string;
	/** Of a server that runs elsewhere. Empty: `sluice connect` names it. */
	url: string;
}

/** `managed`: the service starts the server. */
export function httpSetting({ preset, port, url }: TypedServer, managed: boolean): string | object {
	const [name, text] = managed ? ["port", port.trim()] : ["url", url.trim()];
	if (text === "") return preset;
	return { preset, [name]: managed && /^\d+$/.test(text) ? Number(text) : text };
}
