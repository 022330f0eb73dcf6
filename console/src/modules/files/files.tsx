/** Files of an endpoint: a list with previews, uploads, downloads and deletions. */
import { type ReactNode, useState } from "react";
import { useLoad } from "../../client/load.ts";
import { bytes } from "../../text/format.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/copy.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Empty, Loading, Refusal } from "../../parts/notice.tsx";
import { type Column, Pages, Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { go, to, usePlace } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { FileObject } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { listFiles, moment, removeFile, uploadSnippet } from "./file-calls.ts";
import { Download } from "./download.tsx";
import { FilePreview } from "./file-preview.tsx";
import { Upload } from "./upload.tsx";

const COLUMNS: readonly Column<FileObject>[] = [
	{ name: T.files.name, main: true, cell: ({ filename, id }) => <span title={id}>{filename}</span> },
	{ name: T.files.size, end: true, cell: ({ bytes: size }) => bytes(size) },
	{ name: T.files.purpose, cell: ({ purpose }) => <code>{purpose}</code> },
	{ name: T.files.created, cell: ({ created_at: at }) => <Ago at={moment(at)} /> },
	{ name: T.files.expires, cell: ({ expires_at: at }) => (at === undefined ? null : <Ago at={moment(at)} />) },
];

export default function FilesPage({ id }: { id: string }): ReactNode {
	const { query } = usePlace();
	const write = useMay("write");
	const after = query.get("after") ?? undefined;
	const { data, failure, reload } = useLoad(`files ${id} ${after}`, (signal) => listFiles(id, { after }, signal));
	const [opened, setOpened] = useState<FileObject>();
	const [removing, setRemoving] = useState<FileObject>();
	const show = (last: string | undefined): void => go(to(["endpoints", id, "files"], { after: last }));
	const acts: Column<FileObject> = {
		name: T.files.open,
		silent: true,
		end: true,
		cell: (file) => (
			<span className="actions end">
				<Button look="quiet" label={`${T.files.open} ${file.filename}`} onPress={() => setOpened(file)}>
					{T.files.open}
				</Button>
				<Download endpoint={id} file={file.id} name={file.filename} label={`${T.files.download} ${file.filename}`}>
					{T.files.download}
				</Download>
				{write ? (
					<Button look="quiet" label={`${T.files.remove} ${file.filename}`} onPress={() => setRemoving(file)}>
						{T.files.remove}
					</Button>
				) : null}
			</span>
		),
	};
	return (
		<>
			{write ? <Upload endpoint={id} done={reload} /> : null}
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data === undefined ? (
				failure ? null : (
					<Loading />
				)
			) : data.data.length === 0 ? (
				<Empty title={T.files.none}>
					<p>{T.files.how}</p>
					<CodeBlock text={uploadSnippet(id)} name={T.files.snippet} coloured />
				</Empty>
			) : (
				<section className="card flush">
					<Table
						label={T.tabs.files}
						columns={[...COLUMNS, acts]}
						rows={data.data}
						id={(file) => file.id}
						leads={(file) => () => setOpened(file)}
					/>
				</section>
			)}
			<Pages cursor={after} next={data?.has_more ? data.last_id : undefined} show={show} older={T.files.older} />
			{opened ? <FilePreview endpoint={id} file={opened} close={() => setOpened(undefined)} /> : null}
			{removing ? (
				<Confirm
					title={T.files.removeTitle}
					act={T.files.remove}
					danger
					doing={async () => {
						await removeFile(id, removing.id);
						reload();
					}}
					done={T.files.removed}
					close={() => setRemoving(undefined)}
				>
					<p>{T.files.removeText(removing.filename)}</p>
				</Confirm>
			) : null}
		</>
	);
}
