import ConiferWire

/// The place of the stream of listens.
typealias WatchSlot = StreamSlot<any WatchStream>
/// The place of the stream of writes.
typealias WriteSlot = StreamSlot<any WriteStream>
