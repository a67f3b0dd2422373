// Package sops reads files that were encrypted with sops (https://getsops.io)
// for age recipients: YAML, JSON, dotenv files, and binary files in their JSON
// envelope.
//
// It is a reader of the format alone. sops itself brings the clients of every
// cloud's key service with it, also into its packages that need none. Files that
// only such a service has the key of are decrypted by running sops, where its
// program is named.
//
// A file is decrypted as it is read, before kustomize or anything else sees it:
// its message authentication code covers the file as it is in Git, and would fit
// nothing that was transformed.
//
// Manifests other than Secrets are refused: what is in them shows in plans, in
// status and in messages.
package sops
