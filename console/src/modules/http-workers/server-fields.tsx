/** Which HTTP server, and where it listens: fields of a new endpoint. */
import type { ReactNode } from "react";
import type { HttpPreset } from "../../client/shapes.ts";
import { Select, TextField } from "../../parts/field.tsx";
import { T } from "../../text/text.ts";
import type { TypedServer } from "./http-setting.ts";

export function ServerFields({
	presets,
	managed,
	typed,
	faultOf,
	onChange,
}: {
	presets: readonly HttpPreset[];
	/** The service starts the server. */
	managed: boolean;
	typed: TypedServer;
	faultOf: (name: string) => string | undefined;
	onChange: (typed: TypedServer) => void;
}): ReactNode {
	const preset = presets.find(({ name }) => name === typed.preset);
	return (
		<>
			<Select
				label={T.http.preset}
				api="http.preset"
				value={typed.preset}
				onChange={(name) => onChange({ ...typed, preset: name })}
				choices={presets.map(({ name }) => ({ id: name, name }))}
				hint={preset?.title}
			/>
			{managed ? (
				<TextField
					label={T.http.port}
					api="http.port"
					value={typed.port}
					onChange={(port) => onChange({ ...typed, port })}
					hint={T.http.portHint}
					placeholder={preset?.port === undefined ? undefined : String(preset.port)}
					fault={faultOf("http.port")}
					number
				/>
			) : (
				<TextField
					label={T.http.url}
					api="http.url"
					value={typed.url}
					onChange={(url) => onChange({ ...typed, url })}
					hint={T.http.urlHint}
					placeholder={`http://127.0.0.1:${preset?.port ?? 8000}`}
					fault={faultOf("http.url")}
					mono
				/>
			)}
		</>
	);
}
