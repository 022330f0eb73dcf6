/**
 * Making an endpoint: its id, and how it gets workers. All else has its default, and stands in the
 * settings afterwards.
 */
import { useState } from "react";
import type { ReactNode } from "react";
import { Failure, ask } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Select, TextField } from "../parts/field.tsx";
import { Refusal } from "../parts/notice.tsx";
import { go, to } from "../router.ts";
import type { Endpoint } from "../shapes.ts";
import { T } from "../text.ts";
import { wordsOf } from "../words.ts";

type Launcher = "process" | "docker" | "external";

export function NewEndpoint({ close }: { close: () => void }): ReactNode {
	const [id, setId] = useState("");
	const [name, setName] = useState("");
	const [type, setType] = useState<Launcher>("process");
	const [command, setCommand] = useState("");
	const [folder, setFolder] = useState("");
	const [image, setImage] = useState("");
	const [failure, setFailure] = useState<Failure | undefined>(undefined);
	const [busy, setBusy] = useState(false);
	const fault = (field: string): string | undefined =>
		failure?.details.find((each) => each.field === field || each.field.startsWith(`${field}[`))
			?.message;
	const launchers: Record<Launcher, object> = {
		process: { command: wordsOf(command), ...(folder === "" ? {} : { cwd: folder }) },
		docker: { image, ...(command === "" ? {} : { command: wordsOf(command) }) },
		external: {},
	};

	const make = async (): Promise<void> => {
		setBusy(true);
		setFailure(undefined);
		try {
			const made = await ask<Endpoint>("v1/endpoints", {
				method: "POST",
				body: {
					...(id === "" ? {} : { id }),
					...(name === "" ? {} : { name }),
					launcher: { type, ...launchers[type] },
				},
			});
			close();
			go(to(["endpoints", made.id, type === "external" ? "workers" : "try"]));
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			setFailure(error);
			setBusy(false);
		}
	};

	return (
		<Dialog title={T.newEndpoint.title} close={close}>
			<form
				className="stack"
				onSubmit={(event) => {
					event.preventDefault();
					void make();
				}}
			>
				<TextField
					label={T.newEndpoint.id}
					value={id}
					onChange={setId}
					hint={T.newEndpoint.idHint}
					mono
					autoFocus
					fault={fault("id")}
				/>
				<TextField
					label={T.newEndpoint.name}
					value={name}
					onChange={setName}
					hint={T.newEndpoint.nameHint}
					fault={fault("name")}
				/>
				<Select
					label={T.newEndpoint.launcher}
					value={type}
					onChange={(key) => setType(key as Launcher)}
					choices={(["process", "docker", "external"] as const).map((each) => ({
						id: each,
						name: T.newEndpoint.launchers[each],
					}))}
					hint={T.newEndpoint.launcherHints[type]}
				/>
				{type === "docker" ? (
					<TextField
						label={T.newEndpoint.image}
						value={image}
						onChange={setImage}
						mono
						placeholder="my-worker:1.0"
						fault={fault("launcher.image")}
					/>
				) : null}
				{type === "external" ? null : (
					<TextField
						label={T.newEndpoint.command}
						value={command}
						onChange={setCommand}
						mono
						hint={T.newEndpoint.commandHints[type]}
						placeholder={type === "process" ? "node worker.js" : ""}
						fault={fault("launcher.command")}
					/>
				)}
				{type === "process" ? (
					<TextField
						label={T.newEndpoint.folder}
						value={folder}
						onChange={setFolder}
						mono
						hint={T.newEndpoint.folderHint}
						fault={fault("launcher.cwd")}
					/>
				) : null}
				{failure ? <Refusal failure={failure} /> : null}
				<div className="actions end">
					<Button look="quiet" onPress={close}>
						{T.keep}
					</Button>
					<Button look="main" busy={busy}>
						{T.newEndpoint.make}
					</Button>
				</div>
			</form>
		</Dialog>
	);
}
