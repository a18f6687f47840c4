import ConiferWire

/// The slot of the stream of listens.
typealias WatchSlot = StreamSlot<any WatchStream>
/// The slot of the stream of writes.
typealias WriteSlot = StreamSlot<any WriteStream>
