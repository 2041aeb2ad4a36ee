//! The cost of a step of the logistic benchmark with 784 features in plain C.
#![no_std]
#![no_main]

emulated::program!(emulated::reference::logistic());
