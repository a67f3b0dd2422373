// Package files replaces files as a whole: a reader sees the old content or the new
// content, and a crash leaves one of the two.
//
// What it guarantees:
//
//   - The content is on the disk before the name leads to it, and the name is on the
//     disk before Replace returns.
//   - What a crash leaves behind has one name, Temporary, and the next Replace removes
//     it. Replace writes to no file that was there before: neither its mode nor its
//     readers count.
//
// github.com/google/renameio does the same, and does not build on Windows.
//
//	root, err := os.OpenRoot(folder)
//	err = files.Replace(root, "prod/eu-1.age", content, 0o600)
package files
