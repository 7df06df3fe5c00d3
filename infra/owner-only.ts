/** Rights of what nobody but its owner may read: files, and folders. */
export const OWNER_ONLY = 0o600
export const OWNER_ONLY_FOLDER = 0o700
