/** Texts about files that the worker of a job has stored. */

export const JOB_FILE_TEXTS = {
	jobFiles: {
		title: "Files",
		name: "Name",
		size: "Size",
		type: "Type",
		copyLink: (name: string) => `Copy the link to ${name}`,
		picture: (name: string) => `Picture ${name}`,
		links: "Anyone who has a link can read its file for 7 days.",
		most: (count: number) => `The last ${count} files.`,
		none: "The worker has stored no files for this job.",
		off: "Workers of this endpoint cannot store files. With this setting they can:",
		how: "A worker stores a file and puts its link into the output, with the kit or with RunPod's SDK:",
		setting: "Setting of the endpoint",
		snippet: "Code of a worker",
	},
};
