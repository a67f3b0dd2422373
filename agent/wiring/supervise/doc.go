// Package supervise gives a program an exit code for its own crashes. Go's runtime ends a
// process that runs out of memory, or panics, with code 2, by which fairlead says that
// there are changes.
//
// What it guarantees:
//
//   - A crash ends the process with SIGABRT, which shells show as 134, and writes no core
//     dump: secrets would be in it.
//   - The first process of a container does so as well, where its exit code would be taken
//     for an answer. Linux does not let it end by its own signals, so it runs the same
//     command line in another process.
//
// For example:
//
//	func main() {
//		supervise.Main(os.Args[1:], func() int { return run(os.Args[1:]) })
//	}
package supervise
