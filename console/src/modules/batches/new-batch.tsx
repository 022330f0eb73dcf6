/** Creating a batch: its file of requests, their path, and the time in which they may run. */
import { type ReactNode, useState } from "react";
import { Failure } from "../../client/api.ts";
import { now } from "../../client/clock.ts";
import { useLoad } from "../../client/load.ts";
import { go, to } from "../../client/router.ts";
import type { FileObject } from "../../client/shapes.ts";
import { Dialog, DialogForm } from "../../parts/dialog.tsx";
import { Select, TextField } from "../../parts/field.tsx";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { ago, bytes } from "../../text/format.ts";
import { T } from "../../text/text.ts";
import { listFiles, startOf } from "../files/file-calls.ts";
import { Upload } from "../files/upload.tsx";
import { createBatch } from "./batch-calls.ts";
import { requestPath } from "./batch-lines.ts";

/** Of a file, to find the path in its first line, bytes. */
const READ = 65_536;
const PATHS = ["/v1/chat/completions", "/v1/completions", "/v1/embeddings"] as const;
const WINDOWS = ["1h", "6h", "12h", "24h", "2d", "7d"] as const;

export function NewBatch({ endpoint, close }: { endpoint: string; close: () => void }): ReactNode {
	const { data, failure, reload } = useLoad(`files for batches ${endpoint}`, (signal) =>
		listFiles(endpoint, { purpose: "batch" }, signal),
	);
	return (
		<Dialog title={T.batches.create.title} close={close}>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data ? <Form endpoint={endpoint} stored={data.data} close={close} /> : failure ? null : <Loading />}
		</Dialog>
	);
}

function Form({
	endpoint,
	stored,
	close,
}: {
	endpoint: string;
	stored: readonly FileObject[];
	close: () => void;
}): ReactNode {
	const [uploaded, setUploaded] = useState<readonly FileObject[]>([]);
	const [chosen, setChosen] = useState<string>();
	const files = [...uploaded, ...stored];
	const file = files.find(({ id }) => id === chosen) ?? files[0];
	const path = usePath(endpoint, file?.id);
	const [time, setTime] = useState("24h");
	const [busy, setBusy] = useState(false);
	const [failure, setFailure] = useState<Failure>();
	const choose = (id: string): void => {
		setChosen(id);
		path.type(undefined);
		setFailure(undefined);
	};
	const create = async (input: string): Promise<void> => {
		setBusy(true);
		setFailure(undefined);
		try {
			const batch = { input_file_id: input, endpoint: path.value, completion_window: time };
			const { id } = await createBatch(endpoint, batch);
			close();
			go(to(["endpoints", endpoint, "batches", id]));
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			setFailure(error);
			setBusy(false);
		}
	};
	return (
		<DialogForm
			act={T.batches.create.act}
			busy={busy}
			disabled={!file}
			submit={() => (file ? void create(file.id) : undefined)}
			close={close}
		>
			{file ? (
				<Select
					label={T.batches.create.file}
					hint={T.batches.create.fileHint}
					value={file.id}
					onChange={choose}
					choices={files.map((each) => ({ id: each.id, name: nameOf(each) }))}
				/>
			) : (
				<p>{T.batches.create.noFiles}</p>
			)}
			<Upload
				endpoint={endpoint}
				purpose="batch"
				look="plain"
				done={(each) => {
					setUploaded([each, ...uploaded]);
					choose(each.id);
				}}
			/>
			<TextField
				label={T.batches.create.path}
				hint={path.hint}
				value={path.value}
				onChange={path.type}
				suggestions={PATHS}
				mono
			/>
			<TextField
				label={T.batches.create.window}
				hint={T.batches.create.windowHint}
				value={time}
				onChange={setTime}
				suggestions={WINDOWS}
				mono
			/>
			{failure ? <Refusal failure={failure} /> : null}
		</DialogForm>
	);
}

/** The path of the requests: as typed, or that of the first line of the file. */
function usePath(
	endpoint: string,
	file: string | undefined,
): { value: string; hint: string; type: (path: string | undefined) => void } {
	const [typed, type] = useState<string>();
	const { data, failure } = useLoad(`path in ${file}`, async (signal) => ({
		path: file === undefined ? "" : requestPath(await startOf(endpoint, file, READ, signal)),
	}));
	const hint =
		failure?.message ?? (data && data.path === undefined ? T.batches.create.noPath : T.batches.create.pathHint);
	return { value: typed ?? data?.path ?? "", hint, type };
}

function nameOf({ filename, bytes: size, created_at: at }: FileObject): string {
	return T.batches.create.fileOf(filename, bytes(size), ago(at * 1000, now()));
}
