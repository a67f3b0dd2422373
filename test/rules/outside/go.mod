module example.com/shed

go 1.26.0

require fairlead.dev v0.0.0-00010101000000-000000000000

replace fairlead.dev => ../../..
