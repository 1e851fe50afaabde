// The engine, all of which is the package's own. As it comes through this module, the words of this
// module take the place of the engine's of the same names, in every module that imports this one alone.
@_exported public import InturnCore
