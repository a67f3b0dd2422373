// Package metal3test is bare metal for tests: a real Ironic (API and conductor in one
// process, of the Debian package python3-ironic) with hosts whose BMCs answer Redfish and
// whose ramdisk speaks as Ironic's agent does. All of it is on the loopback.
//
//	i := metal3test.New(t, metal3test.Options{})   // skips where Ironic is not installed
//	h := i.AddHost("m1")                           // switched off, its disk empty
//	fault := i.FailHosts(metal3test.HostFault{Host: "m1", At: metal3test.AtWrite})
//	lost := i.FailCalls(metal3test.CallFault{Method: "PATCH /v1/nodes/*", Times: 1, Lose: true})
//	h.State()                                      // what it really does
//
// What is real: Ironic with its redfish driver, boot by virtual media, the deploy interface
// direct, the protocol of its agent, cleaning, the loop that watches power, config drives.
// Timers are short: power is looked at every two seconds, a ramdisk may be silent for
// [Options].Silence.
//
// What is ours: the BMCs and the agent, about as much as Ironic asks of them. Cleaning empties
// the disk, and a deployment leaves an image and a config drive on it. What a host does that
// is switched on with something on its disk is the business of a [Hardware].
//
// Settings of firmware are written by Redfish, and volumes of disks are made by the agent's steps: a
// host tells which it has. A live image runs from a virtual drive, with the config drive in another.
//
// What is absent: PXE and DHCP, RAID controllers, firmware to be flashed, inspection by a ramdisk.
//
// FAIRLEAD_TEST_IRONIC_ROOT names the root of another system, whose Ironic is run then.
//
// # The double
//
// With Options.Double nothing is real but the front and the hosts' state: in place of Ironic a
// few hundred lines answer, as Ironic does where package ironic asks it, in milliseconds. Nothing
// has to be installed then. The provider's tests of whole lives run with both.
//
// # Faults
//
// They are rules, the first that matches applies.
//
//	HostFault{At: AtRequest, Status: 401}   the BMC refuses the password
//	HostFault{At: AtRequest}                the BMC does not answer: the connection ends
//	HostFault{At: AtRequest, Delay: d}      the BMC is slow
//	HostFault{At: AtPower}                  a reset is taken, and nothing happens
//	HostFault{At: AtPower, Lie: true}       the same, and the BMC says that it happened
//	HostFault{At: AtBoot}                   the ramdisk does not start
//	HostFault{At: AtClean}                  a step of cleaning fails
//	HostFault{At: AtWrite}                  the image cannot be written
//	HostFault{At: AtBootloader}             what boots the image cannot be installed
//	HostFault{At: AtWrite, Hold: true}      it takes until the fault is taken back
//	CallFault{Method: "PUT *", Lose: true}  Ironic does it, its answer is lost
package metal3test
