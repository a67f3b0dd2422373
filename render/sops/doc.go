// Package sops reads files that were encrypted with sops (https://getsops.io) for age
// recipients: YAML, JSON, dotenv files, and binary files in their JSON envelope.
//
// It reads the format without the packages of sops, which import the clients of every
// cloud's key service. Files with a key of such a service are decrypted by running the
// program sops, where its path is configured.
//
// A file is decrypted when it is read, before kustomize or anything else sees it: its message
// authentication code covers the file in its form in Git.
//
// Encrypted manifests other than Secrets are refused: their content is shown in plans, in
// the status and in messages.
package sops
