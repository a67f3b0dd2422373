// Package secrets keeps what may not be in Git: the CA certificates of clusters and
// their kubeconfigs.
//
// File keeps one encrypted file per cluster in a folder:
//
//	identity.txt              the age identity that decrypts them, mode 0600
//	<namespace>/<cluster>.age every secret of a cluster, encrypted with age
//	.locks/                   locks between processes; they hold nothing
//
// A file is replaced as a whole or not at all. One that cannot be read is never
// written over: its content cannot be created again.
//
// Memory keeps secrets until the process ends, for tests and demonstrations.
package secrets
