"""What bench/run is made of: install, contenders, measure, targets, report; in this order."""
