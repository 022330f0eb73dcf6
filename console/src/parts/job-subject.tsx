/** What a job in a list is about: a small picture of its output, a title, its error or the rest of its input. */
import { type ReactNode, useMemo } from "react";
import { short } from "../text/format.ts";
import { firstLine } from "../values/jobs/job-error.ts";
import { type JobTitle, titleOf } from "../values/jobs/job-title.ts";
import type { JobSummary } from "../client/shapes.ts";
import { T } from "../text/text.ts";
import { useThumbnail } from "../values/jobs/thumbnails.ts";

export function JobSubject({
	endpoint,
	job: { id, status, expired, inputPreview, error },
	href,
	input,
	failure,
}: {
	endpoint: string;
	job: JobSummary;
	href: string;
	/** Whether the input is shown, and the error. */
	input: boolean;
	failure: boolean;
}): ReactNode {
	const { title, pairs, media } = useMemo(
		(): JobTitle => (input && inputPreview !== undefined ? titleOf(inputPreview) : { pairs: [] }),
		[input, inputPreview],
	);
	const { ref, url, read, room } = useThumbnail(endpoint, status === "COMPLETED" && !expired ? id : undefined);
	return (
		<span className="subject" ref={ref}>
			{url === undefined ? (
				room ? (
					<span className={read ? "thumbnail" : "thumbnail to-come"} />
				) : null
			) : (
				<img className="thumbnail" src={url} alt="" />
			)}
			<span className="job-line">
				<a className="job-title" href={href} title={id}>
					{title ?? (media ? T.requests.media[media.kind](media.type) : T.requests.untitled(short(id)))}
				</a>
				{failure && error !== undefined ? (
					<span className="line bad">{firstLine(error)}</span>
				) : (
					<span className="pairs line">
						{pairs.map(([name, value]) => (
							<span key={name}>
								<span className="pair-name">{name}</span> {value}
							</span>
						))}
					</span>
				)}
			</span>
		</span>
	);
}
