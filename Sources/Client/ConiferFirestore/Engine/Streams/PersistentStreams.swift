import ConiferWire

/// The stream of listens over all its connections.
typealias PersistentWatchStream = ServerStream<any WatchStream>
/// The stream of writes over all its connections.
typealias PersistentWriteStream = ServerStream<any WriteStream>
