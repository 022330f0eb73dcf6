/** Files that the worker of a job has stored: pictures as they are, all of them as links (D60). */
import type { ReactNode } from "react";
import { ask, BASE, ofEndpoint } from "../../client/api.ts";
import { type Loaded, useLoad } from "../../client/load.ts";
import type { JobDetail, JobFile, JobFileList } from "../../client/shapes.ts";
import { CodeBlock, Copy } from "../../parts/copy.tsx";
import { Refusal } from "../../parts/notice.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { bytes } from "../../text/format.ts";
import { T } from "../../text/text.ts";

/** Pictures that are shown, and their size at most: all are loaded with the page. */
const MOST_PICTURES = 12;
const MOST_BYTES = 16_000_000;

/** Files of an answer at most. */
const MOST_FILES = 100;

export type JobFilesLoaded = Loaded<JobFileList>;

/** Read again with each event of the job. */
export function useJobFiles(endpoint: string, { id, status, timeline }: JobDetail): JobFilesLoaded {
	const path = ofEndpoint(endpoint, `/jobs/${encodeURIComponent(id)}/files`);
	return useLoad(path, (signal) => ask<JobFileList>(path, { signal }), { change: `${status} ${timeline.length}` });
}

export function JobFiles({ data, failure, reload }: JobFilesLoaded): ReactNode {
	if (failure) return <Refusal failure={failure} again={reload} />;
	if (!data?.enabled && !data?.files.length) return null;
	const { files } = data;
	const pictures = files.filter(isPicture).slice(0, MOST_PICTURES);
	return (
		<section className="card stack">
			<h2>{T.jobFiles.title}</h2>
			{pictures.length === 0 ? null : (
				<ul className="media">
					{pictures.map((file) => (
						<li key={keyOf(file)}>
							<a href={linkHere(file.url)} target="_blank" rel="noopener noreferrer">
								<img src={linkHere(file.url)} alt={T.jobFiles.picture(file.name)} />
							</a>
						</li>
					))}
				</ul>
			)}
			{files.length === 0 ? (
				<>
					<p>{T.jobFiles.none}</p>
					<HowToStore />
				</>
			) : (
				<>
					<Table label={T.jobFiles.title} columns={COLUMNS} rows={files} id={keyOf} />
					<p className="hint">
						{files.length === MOST_FILES ? `${T.jobFiles.most(MOST_FILES)} ` : ""}
						{T.jobFiles.links}
					</p>
				</>
			)}
		</section>
	);
}

/** Where workers cannot store files: how they can. */
export function NoJobFiles({ data }: JobFilesLoaded): ReactNode {
	if (!data || data.enabled || data.files.length > 0) return null;
	return (
		<details className="card fold">
			<summary>{T.jobFiles.title}</summary>
			<div className="stack">
				<p>{T.jobFiles.off}</p>
				<CodeBlock text="files: true" name={T.jobFiles.setting} />
				<HowToStore />
			</div>
		</details>
	);
}

function HowToStore(): ReactNode {
	return (
		<>
			<p className="hint">{T.jobFiles.how}</p>
			<CodeBlock text={SNIPPET} name={T.jobFiles.snippet} />
		</>
	);
}

const SNIPPET = `// JavaScript
const { url } = await files.put(png, { name: "picture.png" });

# Python
url = rp_upload.upload_image(job["id"], "picture.png")`;

const COLUMNS: readonly Column<JobFile>[] = [
	{
		name: T.jobFiles.name,
		main: true,
		cell: ({ name, url }) => (
			<a className="break" href={linkHere(url)} target="_blank" rel="noopener noreferrer">
				{name}
			</a>
		),
	},
	{ name: T.jobFiles.size, end: true, cell: ({ bytes: size }) => bytes(size) },
	{ name: T.jobFiles.type, cell: ({ contentType }) => <code>{contentType}</code> },
	{
		name: T.jobFiles.copyLink(""),
		silent: true,
		end: true,
		cell: ({ name, url }) => <Copy text={url} name={T.jobFiles.copyLink(name)} />,
	},
];

/** The same name may be in two buckets. */
const keyOf = ({ bucket, name }: JobFile): string => `${bucket}/${name}`;

/** An SVG may contain what runs. */
function isPicture({ contentType, bytes: size }: JobFile): boolean {
	return contentType.startsWith("image/") && !contentType.includes("svg") && size <= MOST_BYTES;
}

/** The link at the address of this page: the service takes it there too, and the page loads nothing from elsewhere. */
function linkHere(url: string): string {
	const at = url.indexOf("/s3/");
	return at < 0 ? url : BASE + url.slice(at + 1);
}
