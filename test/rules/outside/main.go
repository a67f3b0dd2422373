// Command fairlead is Fairlead with one more provider: sheds.
package main

import (
	"example.com/shed/shed"

	"fairlead.dev/agent/wiring/program"
	"fairlead.dev/providers/all"
)

func main() {
	program.Main(program.Options{Version: "v1.0.0+shed", Providers: append(all.Factories(), shed.Factory())})
}
