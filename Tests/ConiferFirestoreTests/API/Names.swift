import ConiferFirestore

// Files that import the model too mean the client's types by these names, unless they name the module.
typealias Timestamp = ConiferFirestore.Timestamp
typealias GeoPoint = ConiferFirestore.GeoPoint
typealias FieldPath = ConiferFirestore.FieldPath
typealias Filter = ConiferFirestore.Filter
typealias DocumentChange = ConiferFirestore.DocumentChange
typealias ServerTimestampBehavior = ConiferFirestore.ServerTimestampBehavior
