module hookwire

go 1.19
