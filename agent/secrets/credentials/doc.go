// Package credentials reads what Fairlead shows to repositories and registries, and the keys
// that sign and verify, from files: the flags of a command name them, or a Secret of
// Kubernetes is mounted as a folder of them.
//
// What it guarantees:
//
//   - Files are read each time they are needed, so that a Secret that was rotated is used at
//     once, and a key that was withdrawn no longer counts.
//   - The names of files in a folder are those of Flux's Secrets.
//   - No error shows the content of a file.
//
// For example:
//
//	files := credentials.Files{Dir: "/etc/fairlead/git"}
//	repository, err := git.New(git.Options{URL: url, Refresh: files.Git})
package credentials
