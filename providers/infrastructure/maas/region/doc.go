// Package region speaks to a MAAS region by its REST API 2.0. It repeats no change, and it is the only
// place that knows what answers of MAAS mean.
package region
