module loop

go 1.19

require hookwire v0.0.0

replace hookwire => ../../clients/go
