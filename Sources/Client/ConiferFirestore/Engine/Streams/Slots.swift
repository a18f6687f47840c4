import ConiferWire

/// The slot of the stream of listens.
typealias WatchSlot = ServerStream<any WatchStream>
/// The slot of the stream of writes.
typealias WriteSlot = ServerStream<any WriteStream>
