// Package check says whether a fleet has what it needs: its repository, its forge, its
// secrets, its clouds, the charts of its addons and its notification targets. It changes nothing anywhere.
//
//	r := check.New()
//	r.Note("repository", url, "reached", err)
//	r.Clouds(ctx, check.Clouds{Clusters: clusters, Open: runtime.Infrastructure})
//	err = r.Write(os.Stdout, output.FormatTable)
//
// What it guarantees:
//
//   - What could not be found out is said to be unknown, and is no pass.
//   - One thing that fails hides no other.
package check
