// Package program is for a build of fairlead of your own: the whole command line, on the
// providers that the caller names. The built-in ones are in package all of the providers;
// a stranger's are beside them:
//
//	var version = "dev" // set by the linker
//
//	func main() {
//		program.Main(program.Options{Version: version, Providers: append(all.Factories(), shed.Factory())})
//	}
//
// Flags of the providers, their kinds in `fairlead validate`, plans, agents, pivots and
// everything else are then of all of them. The command line builds overlays in processes of
// the same program, and watches over itself where it is the first process of a container:
// so Main is the first thing that a program does, and gets the process to itself.
//
// What this package exports is covered by the promise of compatibility in
// docs/contributing/providers.md.
package program
